"""The first steps of a person with a fresh installation: sign-in, git, a token, man pages, completion."""
import subprocess

# Signs in at the sandbox of the installation and clones its repository, as clients/EINLASSCTL.md says.
SCRIPT = r"""
set -ex
trap 'kill $(jobs -p); wait' EXIT  # the sandbox removes its files
cd ~
mkfifo ready
einlass-sandbox --config-file ~/.config/einlass/config.json >ready & head -n 1 <ready >sandbox.json
einlassctl sign-in github --flow deviceCode --scope git 2>code & program=$!
for _ in $(seq 100); do grep -qE '[A-Z0-9]{4}-[A-Z0-9]{4}' code && break; sleep 0.1; done
curl -s -d "user_code=$(grep -oE '[A-Z0-9]{4}-[A-Z0-9]{4}' code)&decision=allow&user=3001" "$(grep -o 'http://[^ ]*' code | head -n 1)" >page
wait $program
address=$(grep -o '"github":"[^"]*' sandbox.json | cut -d'"' -f4)
export GIT_TERMINAL_PROMPT=0
git config --global credential.helper einlass
! git clone -q "$address/ada/hello.git" 2>refused; grep 'einlassctl access set git github granted' refused
einlassctl access set git github granted
git clone -q "$address/ada/hello.git"; grep 'Cloned with a token' hello/README
git config --global --unset credential.helper
einlassctl setup git --yes
echo Pushed >>hello/README
git -C hello -c user.name=Ada -c user.email=ada@example.org commit -qam Push
git -C hello push -q origin HEAD:main
einlassctl setup git --undo --yes
! git config --global --list | grep einlass
einlassctl access set einlassctl github granted
curl -sSf -K <(einlassctl token github --curl) "$address/user" | grep '"login":"ada"'
man einlassctl | grep -q 'Signs you in' && man git-credential-einlass | grep -q erase
"""
COMPLETION = r"""
set -ex
COMP_WORDS=(einlassctl acc) COMP_CWORD=1 COMP_LINE='einlassctl acc' COMP_POINT=14
$(complete -p einlassctl | grep -o ' -F [^ ]*' | cut -d ' ' -f 3) einlassctl acc einlassctl
printf '%s\n' "${COMPREPLY[@]}" | grep -x 'access *'
"""


def try_out(prefix, home, **more):
    """Signs in, clones, and reads the pages, with the programs below this folder."""
    home.mkdir(mode=0o700)
    environment = {"HOME": str(home), "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin", "MANPATH": f"{prefix}/share/man",
                   "LANG": "C.UTF-8", **more}
    bash = f"source '{prefix}/share/bash-completion/completions/einlassctl'\n{COMPLETION}"
    for script in (SCRIPT, bash):
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=100,
                              stdin=subprocess.DEVNULL, start_new_session=True)
        assert done.returncode == 0, done.stdout + done.stderr
