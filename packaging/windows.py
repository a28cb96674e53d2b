"""The Inno Setup script for Windows. The installer needs no administrator rights and does not touch user data."""

from pathlib import Path

SAME_PROGRAM = "{{8C7C2B1E-6A0B-4C0D-9A4B-2F3D7E51A6C4}"  # the fixed ID by which a newer installer recognizes the app


def name(version: str) -> str:
    return f"journeyman-{version}-windows-setup"


def script(version: str, folder: Path, target: Path, icon: Path) -> str:
    """Return the script, which `iscc` compiles to an installer."""
    return f"""\
[Setup]
AppId={SAME_PROGRAM}
AppName=Journeyman
AppVersion={version}
AppPublisher=Journeyman
DefaultDirName={{autopf}}\\Journeyman
DefaultGroupName=Journeyman
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
MinVersion=10.0.17763
LicenseFile={folder.parent.parent / "LICENSE"}
OutputDir={target}
OutputBaseFilename={name(version)}
SetupIconFile={icon}
UninstallDisplayIcon={{app}}\\journeyman.exe
Compression=lzma2
SolidCompression=yes
CloseApplications=yes
ChangesAssociations=yes
ChangesEnvironment=yes
WizardStyle=modern

[Tasks]
Name: "desktopicon"; Description: "{{cm:CreateDesktopIcon}}"; Flags: unchecked
Name: "path"; Description: "Add journeyman to PATH"

[InstallDelete]
Type: filesandordirs; Name: "{{app}}\\_internal"

[Files]
Source: "{folder}\\*"; DestDir: "{{app}}"; Flags: recursesubdirs createallsubdirs ignoreversion

[Icons]
Name: "{{group}}\\Journeyman"; Filename: "{{app}}\\journeymanw.exe"
Name: "{{group}}\\Journeyman (safe mode)"; Filename: "{{app}}\\journeymanw.exe"; Parameters: "--safe"
Name: "{{autodesktop}}\\Journeyman"; Filename: "{{app}}\\journeymanw.exe"; Tasks: desktopicon

[Registry]
Root: HKA; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{{olddata}};{{app}}"; \\
    Tasks: path; Check: not OnPath('{{app}}')

[Run]
Filename: "{{app}}\\journeymanw.exe"; Description: "{{cm:LaunchProgram,Journeyman}}"; \\
    Flags: nowait postinstall skipifsilent

[Code]
function OnPath(Place: string): Boolean;
var
  Path: string;
begin
  if not RegQueryStringValue(HKA, 'Environment', 'Path', Path) then Path := '';
  Result := Pos(';' + Uppercase(ExpandConstant(Place)) + ';', ';' + Uppercase(Path) + ';') > 0;
end;
"""
